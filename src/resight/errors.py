"""Every error resight raises on purpose. Each message names what is wrong and what to do about it.

The command line turns an error into its ``exit_code``; nothing else looks at that number.
"""


class ResightError(Exception):
    """Root of the tree: catch this to catch everything resight raises on purpose."""

    exit_code = 1


class UncommittedWarning(UserWarning):
    """A search that does not see what the caller has just added or removed: ``Index.commit`` comes first."""


class UsageError(ResightError):
    """The caller asked for something that does not exist or does not fit together."""

    exit_code = 2


class KeyMissingError(UsageError):
    """No picture with the given key is indexed."""


class OptionError(UsageError):
    """An option is unknown, of the wrong type, or out of range."""


class ImageError(ResightError):
    """A picture could not be read: missing, empty, truncated, too large, or of an unsupported format."""


class FeatureFileError(UsageError):
    """A file of given features could not be read, or the features given for a picture are not what they should be."""


class ImageAccessError(ImageError):
    """The file of a picture could not be read this time: it is missing, not permitted, or its disk failed."""


class ImageKindError(ImageError):
    """The file is of a kind that resight does not read."""


class ImageSizeError(ImageError):
    """A picture has more pixels or bytes than it may."""


class VocabularyError(UsageError):
    """A vocabulary is missing, malformed, or not the one the index was made with."""


class EngineError(ResightError):
    """Work could not be run where it should run."""


class StoreError(ResightError):
    """Something about an index on disk; the subclasses say what."""


class IndexMissingError(StoreError, UsageError):
    """There is no index at the given place."""


class IndexExistsError(StoreError, UsageError):
    """There is something where a new index should go."""


class IndexLockedError(StoreError):
    """Another process is writing to the index."""


class IndexDamagedError(StoreError):
    """A stored file is missing or its bytes differ from what was written."""

    exit_code = 3
