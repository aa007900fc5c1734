package burst.node

import java.io.IOException

/** A disk that has no room. The JDK tells it by the operating system's words alone, which are English
  * wherever no other language is set for the process.
  */
object FullDisk:
  private val Words = Vector("No space left on device", "Disk quota exceeded")

  /** Whether that is why something failed. */
  def isCauseOf(problem: Throwable): Boolean = causes(problem).exists:
    case failure: IOException =>
      val message = String.valueOf(failure.getMessage)
      Words.exists(message.contains(_))
    case _ => false

  /** A failure and what is behind it. */
  def causes(problem: Throwable): Iterator[Throwable] =
    Iterator.iterate(problem)(_.getCause).takeWhile(_ != null).take(Deepest)

  /** Causes may go in circles. */
  private val Deepest = 32
