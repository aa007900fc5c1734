package burst.controller.definition

/** What an environment variable of a program may be called. */
object VariableName:
  val MaxLength = 128
  private val Form = "[A-Za-z_][A-Za-z0-9_]*".r

  /** By the first the platform speaks to programs, by the second the loader is told what to load; the third
    * is how OpenWhisk tells a function what runs it.
    */
  val ReservedPrefixes: Vector[String] = Vector("BURST_", "LD_", "__OW_")
  val Reserved: String = "PATH"

  def isValid(name: String): Boolean =
    name.lengthIs <= MaxLength && Form.matches(name) && name != Reserved && !ReservedPrefixes.exists(
      name.startsWith
    )
