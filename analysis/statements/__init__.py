"""Facts and checks as statements: one SQL file each, with a header."""
