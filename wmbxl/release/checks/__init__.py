"""What can be wrong with a release: a module for each kind."""
