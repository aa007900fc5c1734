package burst.controller.definition

/** Valid names of definitions: OpenWhisk's rule for entities. */
object EntityName:
  val MaxLength = 256
  private val Form = raw"\w|\w[\w@ .&-]*[\w@.&-]+".r

  /** Whether this names a definition, possibly in a package: `NAME` or `PACKAGE/NAME`. */
  def isPath(path: String): Boolean =
    val parts = path.split("/", -1)
    parts.lengthIs <= 2 && parts.forall(isValid)

  def isValid(name: String): Boolean = name.lengthIs <= MaxLength && Form.matches(name)
