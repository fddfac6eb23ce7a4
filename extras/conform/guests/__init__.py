"""Tries a guest: which rules of its protocol it keeps (`fencepost guest check`)."""
