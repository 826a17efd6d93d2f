"""Models: call an OpenAI-compatible endpoint, within limits, and keep every call on record."""
