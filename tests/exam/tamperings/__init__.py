"""Genuine runs, changed in one place at a time: does the check that a tampering names notice it?"""
