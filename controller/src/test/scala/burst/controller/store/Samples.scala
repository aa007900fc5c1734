package burst.controller.store

import burst.controller.limits.NamespaceLimits
import burst.controller.placement.Packing
import burst.controller.blob.PackageCopy
import burst.controller.definition.{Definition, FlareOptions, FlareTerms}
import burst.controller.flare.*
import burst.protocol.*
import io.circe.JsonObject
import io.circe.syntax.*
import scala.concurrent.duration.DurationInt

/** Domain objects to store. */
object Samples:
  def short(text: String): Output = Output.Inline(JsonText(text))

  val logLimit = 1000L

  /** The number of versions kept of each definition. */
  val versions = 3
  val package1: PackageId = PackageId.of(Array[Byte](1))
  val package2: PackageId = PackageId.of(Array[Byte](2))
  val limits: NamespaceLimits =
    NamespaceLimits(
      4096,
      4096,
      8192,
      1 << 26,
      10000,
      100,
      1 << 26,
      1 << 20,
      10000,
      10000,
      600,
      60000,
      500,
      false
    )

  private val contents =
    Vector[Byte](1, 2).map(content => PackageId.of(Array(content)) -> Array(content)).toMap

  /** Stores a definition, with its package if that is one of those above. */
  def put(
      storage: Storage,
      wanted: Definition,
      overwrite: Boolean = true,
      limits: NamespaceLimits = limits,
      replaceParameters: Boolean = true
  ): Either[DeployRefusal, Definition] =
    val id = wanted.packageId
    val copy = contents.get(id).fold(PackageCopy.fresh(id))(storage.packages.store(id, _))
    storage.definitions.put(wanted, copy, overwrite, limits, replaceParameters).map(_.definition)

  /** Makes both packages available for flares: definitions in a namespace of their own keep them. */
  def keepPackages(storage: Storage): Unit =
    Vector("1" -> package1, "2" -> package2).foreach((name, id) =>
      put(storage, definition(name, "keeper", id))
    )

  def definition(name: String = "hello", namespace: String = "guest", pkg: PackageId = package1): Definition =
    Definition(
      namespace,
      name,
      "",
      "rust",
      pkg,
      1,
      FlareOptions(granularity = Some(4), packing = Some(Packing.Heterogeneous), timeout = Some(5.seconds)),
      JsonObject("greeting" -> "héllo \u0000 😀".asJson),
      updated = Timestamp.ofMicros(17)
    )

  /** Creates a flare; `created` is in microseconds. */
  def flare(
      created: Long = 1000,
      state: FlareState = FlareState.Queued,
      namespace: String = "guest",
      name: String = "hello",
      inputs: Inputs = Inputs.Each(Vector(JsonText("1"), JsonText.Null)),
      pkg: PackageId = package1
  ): Flare = Flare(
    FlareId.random(),
    FlareRequest(
      DefinitionRef(namespace, name, "0.0.1", pkg),
      2,
      inputs,
      FlareTerms(Some(1), Packing.Mixed, "direct", Some(1 << 20), 1.minute, 256, retries = 0),
      egress = true
    ),
    state,
    1,
    None,
    Timestamp.ofMicros(created),
    None,
    None,
    Option.when(state.isFinal)(Timestamp.ofMicros(created + 10)),
    None,
    Vector.empty,
    Vector.tabulate(2)(w => WorkerRecord(w, None, WorkerState.Pending, None, None, None))
  )

  def grown(flare: Flare, state: FlareState): Flare = flare.copy(
    state = state,
    attempt = 2,
    granularity = Some(2),
    placed = Some(Timestamp.ofMicros(1100)),
    started = Some(Timestamp.ofMicros(1200)),
    ended = Option.when(state.isFinal)(Timestamp.ofMicros(1300)),
    error = Some(Failure(FailureKind.Panic, "boom", worker = Some(1), invoker = Some(InvokerId("i0")))),
    packs = Vector(PackRecord(
      PackId(0),
      InvokerId("i0"),
      Vector(0, 1),
      Some(PackStart.Warm),
      shared = Some(SharedContainer(flare.id, 1))
    )),
    workers = flare.workers.map(_.copy(
      pack = Some(PackId(0)),
      state = WorkerState.Succeeded,
      started = Some(Timestamp.ofMicros(1200))
    ))
  )
