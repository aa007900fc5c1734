package burst.invoker.driver
package sandbox

import scala.concurrent.duration.FiniteDuration

/** Why a shim has not carried out a command. */
private[driver] enum ShimProblem extends NetworkProblem:
  case Refused(message: String)
  case Silent(within: FiniteDuration)
  case NoAnswer(why: String)

  def sentence: String = this match
    case Refused(message) => message
    case Silent(within) => s"its shim has not answered within $within"
    case NoAnswer(why) => s"its shim does not answer: $why"
