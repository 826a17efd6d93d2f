"""Statistics: how much the overlap can matter, and how sure one can be."""
