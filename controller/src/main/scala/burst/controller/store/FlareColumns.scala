package burst.controller.store

import burst.controller.definition.FlareTerms
import burst.controller.flare.*
import burst.protocol.{DefinitionRef, Failure, GroupRole, Inputs, Origin, Timestamp}
import io.circe.syntax.*
import io.circe.{Codec, Json}
import scalikejdbc.WrappedResultSet

/** How a flare is split into columns (see the migrations): `request` never changes, `progress` does, `parts`
  * (packs and workers) changes and may be large.
  */
private[store] object FlareColumns:
  /** A request without its inputs, its environment and its terms, which are stored separately. */
  final case class Request(
      definition: DefinitionRef,
      size: Int,
      group: Option[GroupRole],
      egress: Option[Boolean] = None,
      activation: Option[ActivationFields] = None,
      origin: Option[Origin] = None
  ) derives Codec.AsObject

  final case class Progress(
      attempt: Int,
      granularity: Option[Int],
      placed: Option[Timestamp],
      started: Option[Timestamp],
      error: Option[Failure]
  ) derives Codec.AsObject

  final case class Parts(packs: Vector[PackRecord], workers: Vector[WorkerRecord]) derives Codec.AsObject

  private val NoParts = Parts(Vector.empty, Vector.empty)

  def request(flare: Flare): String =
    val r = flare.request
    val rest = Request(r.definition, r.size, r.group, Some(r.egress), r.activation, r.origin)
    // Their field names are distinct.
    Json.fromFields(rest.asJsonObject.toIterable ++ r.terms.asJsonObject.toIterable).noSpaces

  /** The environment, stored separately as it is deleted at the flare's end; none if it is empty. */
  def environment(flare: Flare): Option[String] =
    Some(flare.request.environment).filterNot(_.isEmpty).map(_.asJson.noSpaces)

  def progress(flare: Flare): String =
    Progress(flare.attempt, flare.granularity, flare.placed, flare.started, flare.error).asJson.noSpaces

  def attempt(progress: String): Int = Stored.json[Progress](progress).attempt

  /** The time an invocation began, if it has ended. */
  def begun(flare: Flare): Option[Timestamp] =
    Option.when(flare.state.isFinal && flare.request.activation.isDefined)(flare.begun)

  def parts(flare: Flare): String = Parts(flare.packs, flare.workers).asJson.noSpaces

  def state(state: FlareState): String = state.asJson.asString.getOrElse(state.toString)

  private val States: Map[String, FlareState] = FlareState.values.map(s => state(s) -> s).toMap

  def state(text: String): FlareState = States.getOrElse(text, throw Stored.Damaged("a flare's state"))

  /** Reads a flare, with `parts` if they are wanted. */
  def flare(row: WrappedResultSet, parts: Option[String], inputs: Inputs = Inputs.Hidden): Flare =
    val request = row.string("request")
    val r = Stored.json[Request](request)
    val p = Stored.json[Progress](row.string("progress"))
    val split = parts.fold(NoParts)(Stored.json[Parts])
    Flare(
      Stored.flareId(row.string("id")),
      FlareRequest(
        r.definition,
        r.size,
        inputs,
        Stored.json[FlareTerms](request),
        r.group,
        r.egress.getOrElse(false),
        activation = r.activation,
        origin = r.origin
      ),
      state(row.string("state")),
      p.attempt,
      p.granularity,
      row.get[Timestamp]("created"),
      p.placed,
      p.started,
      row.get[Option[Timestamp]]("ended"),
      p.error,
      split.packs,
      split.workers
    )
