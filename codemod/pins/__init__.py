"""Pin files: one module for each family of them, and the pins that they all give."""
