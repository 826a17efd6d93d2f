"""Has this benchmark leaked into that corpus, and does it matter?"""
