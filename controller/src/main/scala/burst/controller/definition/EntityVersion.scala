package burst.controller.definition

/** The version of an entity as OpenWhisk's clients see it; they may also set it. */
object EntityVersion:
  val First = "0.0.1"
  private val Form = raw"(\d{1,9})\.(\d{1,9})\.(\d{1,9})".r

  def isValid(text: String): Boolean = Form.matches(text)

  /** The version with its patch number incremented. */
  def after(version: String): String = version match
    case Form(major, minor, patch) => s"$major.$minor.${patch.toLong + 1}"
    case _ => First
