package burst.controller.definition

/** What a definition may be called: OpenWhisk's rule for entities. */
object EntityName:
  val MaxLength = 256
  private val Form = raw"\w|\w[\w@ .&-]*[\w@.&-]+".r

  def isValid(name: String): Boolean = name.lengthIs <= MaxLength && Form.matches(name)
