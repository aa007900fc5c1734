package burst.controller.definition

/** The version of an entity as OpenWhisk's clients know it, which they may also say. */
object EntityVersion:
  val First = "0.0.1"
  private val Form = raw"(\d{1,9})\.(\d{1,9})\.(\d{1,9})".r

  def isValid(text: String): Boolean = Form.matches(text)

  /** With the patch raised. */
  def after(version: String): String = version match
    case Form(major, minor, patch) => s"$major.$minor.${patch.toLong + 1}"
    case _ => First
