package burst.protocol

/** How a runtime refuses: why, and the log of a program that did not come up. */
final case class RuntimeRefusal(error: String, log: Vector[PackEvent] = Vector.empty)
