"""Lays tampered copies of genuine runs into traces, and finds the checks that notice them."""
