// `import Rangeable` brings both containers.
@_exported public import Intervals
