"""What is told of an input that cannot be drawn."""


class BadInput(Exception):
    """One sentence: the file, what is wrong with it, and what would be right."""

    def __init__(self, file, sentence):
        super().__init__(f"{file}: {sentence}")
