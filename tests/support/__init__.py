"""What the tests of several folders share: each module gives one kind of thing."""
