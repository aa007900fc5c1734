package burst.controller.scheduler

import scala.concurrent.duration.FiniteDuration

/** Why an invoker that was up is lost, with everything it ran; `reason` ends the sentence that reports it. */
enum InvokerLoss(val reason: String):
  /** It has reported so itself, in words of its own release. */
  case Unregistered(words: String) extends InvokerLoss(words)
  case Restarted extends InvokerLoss("it restarted")
  case ProcessEnded extends InvokerLoss("its process ended")

  /** The same process begins another session. */
  case Reconnected extends InvokerLoss("it had lost contact")
  case Silent(limit: FiniteDuration) extends InvokerLoss(s"it was not heard of for ${limit.toCoarsest}")

  /** It did not reach the scheduler that followed another one. */
  case NotAdopted extends InvokerLoss("it did not come back when the controller was replaced")

  /** Its session cannot continue; another one may begin. */
  case Unreadable extends InvokerLoss("a message of its session cannot be read, or written")
  case Defect extends InvokerLoss("a defect of the controller")
