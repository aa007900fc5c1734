package burst.controller.http

import burst.controller.definition.KindFamily
import burst.controller.deploy.PackageInspector
import burst.controller.scheduler.FlareService
import burst.controller.store.{Blocking, Identity, Transfers}
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import org.apache.pekko.util.ByteString
import scala.concurrent.ExecutionContext

/** Deploys of what has a program, which is looked at before it is stored. */
final class ProgramDeploys(
    deploys: Deploys,
    service: FlareService,
    inspector: PackageInspector,
    transfers: Transfers
)(using ExecutionContext):
  /** Has what is read of a request's body stored, as said over what is there, if its program is one that the
    * machines can run.
    */
  def apply[A](caller: Identity, request: HttpRequest)(read: ByteString => Either[ApiError, A])(
      program: A => Option[(Code, KindFamily)]
  )(store: (Boolean, A) => Either[ApiError, HttpResponse]): Answer =
    deploys(caller, request): (overwrite, taken) =>
      for
        runtimes <- service.invokers().map(_.filter(_.up).map(_.status.runtime).distinct)
        inspected <- taken.inTurn: body =>
          for
            found <- read(body)
            _ <- program(found).fold(Right(())): (code, family) =>
              inspector.inspect(
                code.bytes,
                family,
                code.binary,
                runtimes
              ).left.map(ApiError.PackageRefused(_))
          yield found
        answer <- Refusable(inspected)(found => moving(caller)(store(overwrite, found)))
      yield answer

  /** For what stores and deletes packages. A bucket may take long: no other namespace waits for it. */
  def moving(caller: Identity): Blocking = Blocking(transfers.of(caller.namespace))
