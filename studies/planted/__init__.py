"""Bugs planted into random plans, unknown to the drawing: how many plans until each is found?"""
