// Who imports `Rangeable` gets both containers.
@_exported public import Intervals
