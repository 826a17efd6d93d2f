"""The second tier of quality assurance: experts screen problems on a page of their own machine."""
