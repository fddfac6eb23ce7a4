"""Whether two builds differ in the same story (docs/own-builds.md, decision 28)."""
