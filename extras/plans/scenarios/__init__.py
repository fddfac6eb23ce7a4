"""The scenario that carries out random plans."""
