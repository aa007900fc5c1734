package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.protocol.{DefinitionRef, Environment, FlareId}

/** What a function of OpenWhisk's is told of its run, by the names that its runtimes have for that. Our own
  * programs ask their context.
  */
private[scheduler] object InvocationEnvironment:
  /** @param deadline
    *   in microseconds since the epoch
    */
  def of(id: FlareId, request: FlareRequest, deadline: Long): Environment =
    val definition = request.definition
    if request.activation.isEmpty && definition.kind == DefinitionRef.Rust then request.invocation
    else
      val path = request.activation.fold(s"${definition.namespace}/${definition.name}")(_.path)
      Environment(
        request.invocation.variables ++ Map(
          "namespace" -> definition.namespace,
          "action_name" -> s"/$path",
          "action_version" -> request.activation.fold(definition.version)(_.version),
          "activation_id" -> id.value,
          "transaction_id" -> request.activation.fold(id.value)(_.transaction),
          "deadline" -> (deadline / 1000).toString
        )
      )
