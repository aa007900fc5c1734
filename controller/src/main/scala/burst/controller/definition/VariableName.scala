package burst.controller.definition

/** Valid names of a program's environment variables. */
object VariableName:
  val MaxLength = 128
  private val Form = "[A-Za-z_][A-Za-z0-9_]*".r

  /** The platform passes its own variables with the first prefix; the second controls the dynamic loader;
    * with the third OpenWhisk tells a function about its run.
    */
  val ReservedPrefixes: Vector[String] = Vector("BURST_", "LD_", "__OW_")
  val Reserved: String = "PATH"

  def isValid(name: String): Boolean = name.lengthIs <= MaxLength && Form.matches(name) && !isReserved(name)

  /** Whether a parameter of this name can be in a program's environment: any name that the kernel passes on.
    */
  def canBeHandedOn(name: String): Boolean =
    name.nonEmpty && !name.exists(c => c == '=' || c == '\u0000') && !isReserved(name)

  private def isReserved(name: String): Boolean =
    name == Reserved || ReservedPrefixes.exists(name.startsWith)
