"""Genuine runs, changed in one place at a time: does the check that a lie names notice it?"""
