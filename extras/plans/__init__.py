"""Plans of random runs: data that is drawn from a seed, and carried out."""
