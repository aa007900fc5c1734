package burst.controller.definition

import io.circe.derivation.{Configuration, ConfiguredCodec}
import io.circe.JsonObject
import io.circe.syntax.*

/** What a definition has beside its program and options: what OpenWhisk's clients say of an action.
  *
  * @param main
  *   the function that a program in a file of source is called by
  * @param image
  *   what a `blackbox` runs in
  * @param components
  *   the actions of a sequence, as `/namespace/[package/]name`
  * @param binary
  *   whether its code was sent as base64
  * @param initParameters
  *   names of those parameters that a program has in its environment, and not in its inputs
  * @param logs
  *   MB of a log
  * @param concurrency
  *   how many invocations a pack may run at once
  * @param label
  *   the version that it was given, in place of the platform's own
  */
final case class ActionFields(
    main: Option[String] = None,
    image: Option[String] = None,
    components: Vector[String] = Vector.empty,
    binary: Boolean = true,
    annotations: JsonObject = JsonObject.empty,
    publish: Boolean = false,
    initParameters: Set[String] = Set.empty,
    logs: Int = 10,
    concurrency: Int = 1,
    label: Option[String] = None
):
  /** The label of a next version that says none of its own. */
  def nextLabel: Option[String] = label.map(EntityVersion.after)

  /** Those of a next version whose program was replaced by who knows nothing of actions. */
  def under(program: ActionFields, kind: String, init: Set[String]): ActionFields = copy(
    annotations = if annotations.contains("exec") then annotations.add("exec", kind.asJson) else annotations,
    concurrency = if Kind.familyOf(kind).exists(_.isConcurrent) then concurrency else 1,
    main = program.main,
    image = program.image,
    components = program.components,
    binary = program.binary,
    initParameters = init,
    label = nextLabel
  )

object ActionFields:
  private given Configuration = Configuration.default.withDefaults
  given ConfiguredCodec[ActionFields] = ConfiguredCodec.derived
