"""The page that people read after an audit: one file, with its figures, its texts and its evidence."""
