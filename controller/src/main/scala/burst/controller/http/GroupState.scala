package burst.controller.http

import burst.controller.flare.{Flare, FlareState}
import burst.protocol.KebabCase.given
import io.circe.derivation.ConfiguredEnumCodec

/** Where a group is in its life, as it is told. */
private[http] enum GroupState derives ConfiguredEnumCodec:
  case Queued, Opening, Open, Closing, Closed

private[http] object GroupState:
  def of(group: Flare): GroupState = group.state match
    // What it is to end by is on record before it has ended.
    case state if !state.isFinal && group.error.isDefined => Closing
    case FlareState.Queued => Queued
    case FlareState.Placing | FlareState.Starting => Opening
    case FlareState.Running => Open
    case _ => Closed
