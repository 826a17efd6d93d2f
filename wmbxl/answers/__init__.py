"""Answers: find them in a response, and say whether they are right."""
