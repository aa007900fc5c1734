package burst.controller.definition

/** What a definition may be called: OpenWhisk's rule for entities. */
object EntityName:
  val MaxLength = 256
  private val Form = raw"\w|\w[\w@ .&-]*[\w@.&-]+".r

  /** Of a definition, which may be in a package: `NAME` or `PACKAGE/NAME`. */
  def isPath(path: String): Boolean =
    val parts = path.split("/", -1)
    parts.lengthIs <= 2 && parts.forall(isValid)

  def isValid(name: String): Boolean = name.lengthIs <= MaxLength && Form.matches(name)
