package burst.controller.scheduler

/** Whether the store took what it was last given: while it does not, nothing runs that is not stored. */
final class StoreHealth:
  @volatile private var well = true

  def isWell: Boolean = well
  def succeeded(): Unit = if !well then well = true
  def failed(): Unit = well = false
