"""Drawing maths: pure functions from numbers to lines of text in roles. They know no widget and no colour."""
