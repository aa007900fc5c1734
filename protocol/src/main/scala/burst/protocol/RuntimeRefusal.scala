package burst.protocol

/** What a runtime answers that does not do as it is told: why, and what a program that did not come up has
  * said.
  */
final case class RuntimeRefusal(error: String, log: Vector[PackEvent] = Vector.empty)
