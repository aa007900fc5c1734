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

  def isValid(name: String): Boolean = name.lengthIs <= MaxLength && Form.matches(name) && !isReserved(name)

  /** Of a parameter that a program has in its environment: whatever the kernel hands on. */
  def canBeHandedOn(name: String): Boolean =
    name.nonEmpty && !name.exists(c => c == '=' || c == '\u0000') && !isReserved(name)

  private def isReserved(name: String): Boolean =
    name == Reserved || ReservedPrefixes.exists(name.startsWith)
