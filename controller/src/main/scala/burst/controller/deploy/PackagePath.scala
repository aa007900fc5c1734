package burst.controller.deploy

/** The rules for paths in packages, in whatever archive format. */
private[deploy] object PackagePath:
  /** Refuses paths that lead out of the package, or that unpacking programs may read differently. A directory
    * may end with a slash.
    */
  def check(path: String): Either[PackageProblem, Unit] =
    val parts = path.stripSuffix("/").split("/", -1)
    val unsafe = path.isEmpty || path.exists(c => c == '\\' || c.isControl) || path.lengthIs > 1024 ||
      parts.exists(p => p.isEmpty || p == "." || p == "..") || parts.head.endsWith(":")
    Either.cond(!unsafe, (), PackageProblem.UnsafePath(path))
