package burst.invoker.driver
package sandbox

import scala.concurrent.duration.FiniteDuration

/** Why a shim has not carried out a command. */
private[driver] enum ShimProblem extends NetworkProblem:
  case Refused(said: String)
  case Silent(within: FiniteDuration)
  case Unheard(why: String)

  def sentence: String = this match
    case Refused(said) => said
    case Silent(within) => s"its shim has not answered within $within"
    case Unheard(why) => s"its shim does not answer: $why"
