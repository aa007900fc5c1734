package burst.controller.scheduler

/** Whether the last write to the store succeeded: while it fails, no flare runs that is not stored. */
final class StoreHealth:
  @volatile private var well = true

  def isWell: Boolean = well
  def succeeded(): Unit = if !well then well = true
  def failed(): Unit = well = false
