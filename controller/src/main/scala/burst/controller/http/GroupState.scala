package burst.controller.http

import burst.controller.flare.{Flare, FlareState}
import burst.protocol.KebabCase.given
import io.circe.derivation.ConfiguredEnumCodec

/** The state of a group, as the API shows it. */
private[http] enum GroupState derives ConfiguredEnumCodec:
  case Queued, Opening, Open, Closing, Closed

private[http] object GroupState:
  def of(group: Flare): GroupState = group.state match
    // The reason for its end is recorded before it has ended.
    case state if !state.isFinal && group.error.isDefined => Closing
    case FlareState.Queued => Queued
    case FlareState.Placing | FlareState.Starting => Opening
    case FlareState.Running => Open
    case _ => Closed
