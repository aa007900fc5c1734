package burst.controller.deploy

/** The rules for paths in packages, whatever these are packed as. */
private[deploy] object PackagePath:
  /** Refuses what would lead out of the package, or what those who unpack it might read in different ways. A
    * directory may end with a slash.
    */
  def check(path: String): Either[PackageProblem, Unit] =
    val parts = path.stripSuffix("/").split("/", -1)
    val unsafe = path.isEmpty || path.exists(c => c == '\\' || c.isControl) || path.lengthIs > 1024 ||
      parts.exists(p => p.isEmpty || p == "." || p == "..") || parts.head.endsWith(":")
    Either.cond(!unsafe, (), PackageProblem.UnsafePath(path))
