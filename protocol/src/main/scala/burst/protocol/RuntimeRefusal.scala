package burst.protocol

/** A runtime's refusal: the reason, and the log of a program that did not come up. */
final case class RuntimeRefusal(error: String, log: Vector[PackEvent] = Vector.empty)
