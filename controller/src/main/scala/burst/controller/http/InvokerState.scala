package burst.controller.http

import burst.controller.scheduler.InvokerView
import burst.protocol.KebabCase.given
import io.circe.derivation.ConfiguredEnumCodec

/** Whether a machine gets flares, as the API shows it. */
private[http] enum InvokerState derives ConfiguredEnumCodec:
  case Up, Quarantined, Draining, Drained, Down

private[http] object InvokerState:
  def of(view: InvokerView): InvokerState =
    if !view.up then Down
    else if view.drained then if view.usedSlots > 0 then Draining else Drained
    else if view.quarantine.isDefined then Quarantined
    else Up
