package burst.protocol

/** The messages between nodes: between controllers, and between them and invokers. */
object Protocol:
  /** To be raised by whatever a node of the release before could not read or would take for something else.
    */
  val Version: Int = 2
