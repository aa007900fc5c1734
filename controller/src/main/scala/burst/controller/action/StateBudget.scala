package burst.controller.action

/** Bounds the bytes of conductors' states in this controller's memory while the actions run that the
  * conductors requested. One namespace may have a quarter, or at least one state.
  */
private[action] final class StateBudget(total: Long):
  import StateBudget.*
  private val most = (total / 4).max(RunResult.MostBytes)
  private var held = Map.empty[String, Long].withDefaultValue(0L)
  private var inAll = 0L

  /** Reserves bytes; returns an error if there is no room. */
  def take(namespace: String, bytes: Long): Option[RunResult] = synchronized:
    if held(namespace) + bytes > most then
      Some(RunResult.error(ActivationStatus.ApplicationError, ofNamespace(most)))
    else if inAll + bytes > total then Some(RunResult.error(ActivationStatus.InternalError, NoRoom))
    else
      hold(namespace, bytes)
      None

  def giveBack(namespace: String, bytes: Long): Unit = synchronized(hold(namespace, -bytes))

  private def hold(namespace: String, bytes: Long): Unit =
    inAll += bytes
    val left = held(namespace) + bytes
    held = if left == 0 then held - namespace else held.updated(namespace, left)

object StateBudget:
  /** The whole budget: at most a sixteenth of the heap. */
  def total: Long = Math.min(128L * 1024 * 1024, Runtime.getRuntime.maxMemory / 16)

  private[action] def ofNamespace(most: Long): String =
    s"The states of this namespace's conductors, while the actions run that these asked for, may have $most bytes together; invoke it again when others have ended."
  private[action] val NoRoom = "The platform has no room for the conductor's state; invoke it again."
