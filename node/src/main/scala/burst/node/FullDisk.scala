package burst.node

import java.io.IOException

/** A disk without room. The JDK reports it only by the operating system's message, which is English unless
  * another language is set for the process.
  */
object FullDisk:
  private val Messages = Vector("No space left on device", "Disk quota exceeded")

  /** Whether a full disk is the cause of a failure. */
  def isCauseOf(problem: Throwable): Boolean = causes(problem).exists:
    case failure: IOException =>
      val message = String.valueOf(failure.getMessage)
      Messages.exists(message.contains(_))
    case _ => false

  /** A failure and its causes. */
  def causes(problem: Throwable): Iterator[Throwable] =
    Iterator.iterate(problem)(_.getCause).takeWhile(_ != null).take(Deepest)

  /** Causes can form a cycle. */
  private val Deepest = 32
