"""Whether clients keep their place: guests, stories and the page."""
